// What functions of the tests that run in the page use of its world. The tests themselves run in Node, so they are checked without a browser's types.
declare const document: {
  readonly cookie: string;
  readonly documentElement: { readonly scrollWidth: number };
  querySelector(selector: string): { getAttribute(name: string): string | null } | null;
  querySelectorAll(
    selector: string,
  ): ArrayLike<{ readonly textContent: string }> & Iterable<{ readonly textContent: string }>;
};
declare class MutationObserver {
  constructor(changed: () => void);
  observe(target: typeof document, what: { childList: boolean; subtree: boolean }): void;
}
declare const location: { hash: string };
declare const sessionStorage: { readonly length: number };
declare const localStorage: { readonly length: number };
declare function requestAnimationFrame(look: () => void): number;
