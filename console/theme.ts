// Light or dark: as the system has it, until somebody chooses; kept for this browser.
const PLACE = "toren.theme";
export type Theme = "light" | "dark";

const chosen = (): Theme | null => {
  const kept = localStorage.getItem(PLACE);
  return kept === "light" || kept === "dark" ? kept : null;
};
export const theme = (): Theme => chosen() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

export function beginTheme(): void {
  const kept = chosen();
  if (kept !== null) document.documentElement.dataset.theme = kept;
}

export function setTheme(to: Theme): void {
  localStorage.setItem(PLACE, to);
  document.documentElement.dataset.theme = to;
}
