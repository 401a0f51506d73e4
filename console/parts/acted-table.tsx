// A table whose last column holds what can be done about each row.
import type { ComponentChildren } from "preact";

interface Props {
  /** Of the columns before the last: their words, and a class where they have one. */
  readonly heads: readonly (readonly [text: string, look?: string])[];
  /** Its rows. */
  readonly children: ComponentChildren;
}

export const ActedTable = ({ heads, children }: Props) => (
  <div class="scroll-x">
    <table class="table">
      <thead>
        <tr>
          {heads.map(([text, look]) => (
            <th key={text} class={look}>
              {text}
            </th>
          ))}
          <th class="right">
            <span class="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);
