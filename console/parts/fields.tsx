// Fields of a form: a line of text, a choice.
interface LineProps {
  readonly label: string;
  readonly value: string;
  readonly mono?: boolean;
  readonly onValue: (value: string) => void;
}

export const Line = ({ label, value, mono = false, onValue }: LineProps) => (
  <label class="field">
    <span class="label">{label}</span>
    <input class={mono ? "input mono" : "input"} value={value} onInput={(e) => onValue(e.currentTarget.value)} />
  </label>
);

interface PickProps extends LineProps {
  readonly options: readonly (readonly [string, string])[];
}

export const Pick = ({ label, value, options, onValue }: PickProps) => (
  <label class="field">
    <span class="label">{label}</span>
    <select class="input" value={value} onChange={(e) => onValue(e.currentTarget.value)}>
      {options.map(([name, words]) => (
        <option key={name} value={name}>
          {words}
        </option>
      ))}
    </select>
  </label>
);
