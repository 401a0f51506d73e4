// What came of it: how the run ended, that nothing on record was paid again, and which tools had begun more than once. Pure.
import type { Style } from "../terminal/style.ts";
import { accountLines, headline, reasonLines, treeLines } from "../terminal/tree.ts";
import { counted, grouped, shortId } from "../terminal/units.ts";
import { waitLines } from "../terminal/waits.ts";
import { type BegunAgain, begunAgain } from "./blows.ts";
import type { Survived } from "./chaos.ts";

/** What is wrong, for a person; none: exit 0. A call that ran twice is no fault of the run's: it is what its tool allows. */
export function faults({ run }: Survived): string[] {
  return [
    ...(run.status === "completed" || run.status === "awaitingInput"
      ? []
      : [`The run is ${run.status}${run.reason === null ? "" : `: ${run.reason}`}`]),
    ...(run.receipt.repaid === 0 ? [] : [`${counted(run.receipt.repaid, "recorded answer")} were paid again`]),
  ];
}

export function reportLines(survived: Survived, style: Style, columns: number, wanted: number): string[] {
  const { run, names, blows, log, stateFolder } = survived;
  const now = Date.parse(run.endedAt ?? new Date().toISOString());
  const again = begunAgain(log);
  const killed = `${counted(blows.length, "worker")} killed${blows.length < wanted ? ` of ${grouped(wanted)}: the run was over by then` : ""}`;
  const { unanswered, repaid, modelCalls } = run.receipt;
  return [
    "",
    headline(run, style, now),
    ...treeLines(run, { style, names, columns, rows: Number.POSITIVE_INFINITY }),
    "",
    ...accountLines(run, style),
    ...reasonLines(run, style),
    ...waitLines(run, style, now),
    "",
    `  ${repaid === 0 ? style.green("✔") : style.red("✘")} ${killed}; ${counted(modelCalls, "answer")} recorded, ${grouped(repaid)} re-paid, ${grouped(unanswered)} asked again because their worker died before they were on record`,
    ...(again.length === 0
      ? [`  ${style.green("✔")} no tool's call was begun twice`]
      : again.map((one) => againLine(one, style))),
    "",
    style.dim(`  TOREN_HOME=${stateFolder} npx toren jobs show ${shortId(run.runId)}   the run, until the next chaos`),
  ];
}

function againLine({ tool, keyed, external, times }: BegunAgain, style: Style): string {
  const what = `${tool}: ${times === 1 ? "a call was" : `${grouped(times)} calls were`} begun again after a death inside`;
  if (!external) return `  ${style.green("✔")} ${what}; it changes nothing outside`;
  if (keyed) return `  ${style.green("✔")} ${what}, under the key of the first time`;
  return `  ${style.yellow("!")} ${what}, without a key: its effect may be there twice`;
}

/** What `--json` prints. */
export function reportJson(survived: Survived) {
  const { run, blows, log, stateFolder } = survived;
  const wrong = faults(survived);
  return {
    ok: wrong.length === 0,
    faults: wrong,
    runId: run.runId,
    status: run.status,
    output: run.output,
    ...(run.error === null ? {} : { error: run.error }),
    kills: blows,
    receipt: run.receipt,
    usage: run.usage,
    costUsd: run.costUsd,
    simulated: run.simulated,
    begunAgain: begunAgain(log),
    stateFolder,
  };
}
