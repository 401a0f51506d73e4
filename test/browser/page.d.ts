// What functions of the tests that run in the page use of its world. The tests themselves run in Node, so they are checked without a browser's types.
declare const document: {
  readonly cookie: string;
  readonly documentElement: { readonly scrollWidth: number };
  querySelector(selector: string): { getAttribute(name: string): string | null } | null;
};
declare const location: { hash: string };
declare const sessionStorage: { readonly length: number };
declare const localStorage: { readonly length: number };
declare function requestAnimationFrame(look: () => void): number;
