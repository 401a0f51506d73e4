// What is wrong with what the user gave, said in one sentence that ends in what to do. app.ts prints it without a stack.
export class StackProblem extends Error {
  override readonly name = "StackProblem";
}
