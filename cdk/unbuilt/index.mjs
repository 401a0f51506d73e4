// Stands in for a bundle where none was built.
export const handler = () => {
  throw new Error("this function was deployed without its bundle");
};
