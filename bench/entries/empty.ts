// What loading a module costs that does nothing.
export const handler = (): void => {};
