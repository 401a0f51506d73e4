// An icon is decoration: the word stands beside it.
import { ICONS, type IconName } from "../model/icons.ts";

export const Icon = ({ name, spin = false }: { readonly name: IconName; readonly spin?: boolean }) => (
  <svg class={spin ? "icon spin" : "icon"} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d={ICONS[name]} />
  </svg>
);
