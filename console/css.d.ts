// Styles are taken in for what they do; they export nothing.
declare module "*.css";
