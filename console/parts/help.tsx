import { Dialog } from "./actions.tsx";

const KEYS: readonly (readonly [string, string])[] = [
  ["j  k", "down and up, in lists and timelines"],
  ["Enter", "open what is selected"],
  ["→  ←", "unfold and fold in a timeline"],
  ["Esc", "close, leave a field"],
  ["/", "search runs"],
  ["x", "mark a run in the list"],
  ["n", "start a run"],
  ["o  r  a  c", "overview, runs, what waits, conversations"],
  ["?", "this list"],
];

export const Help = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title="Keys" onClose={onClose}>
    <dl class="facts">
      {KEYS.map(([keys, does]) => (
        <>
          <dt>
            {keys.split(/ +/).map((key) => (
              <>
                <kbd>{key}</kbd>{" "}
              </>
            ))}
          </dt>
          <dd>{does}</dd>
        </>
      ))}
    </dl>
    <div class="row end">
      <form method="dialog" class="bare-form">
        <button type="submit" class="button">
          Close
        </button>
      </form>
    </div>
  </Dialog>
);
