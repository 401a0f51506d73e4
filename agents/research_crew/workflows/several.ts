import { ChildFailed, defineWorkflow } from "toren";

interface Answered {
  readonly [key: string]: string;
  readonly question: string;
  readonly answer: string;
}

/** Several questions, one a line: a run of `main` for each, at the same time. One that can't be answered does not sink the others. */
export default defineWorkflow(async (ctx) => {
  const questions = ctx.input.split("\n").filter((line) => line.trim() !== "");
  return await Promise.all(
    questions.map(async (question): Promise<Answered> => {
      try {
        return { question, answer: await ctx.run<string>("main", question) };
      } catch (thrown) {
        if (thrown instanceof ChildFailed) return { question, answer: `No answer: ${thrown.code}` };
        throw thrown;
      }
    }),
  );
});
