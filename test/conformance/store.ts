// What every twin of the store port keeps: bind it to a store by saying how to open one.
import { afterAll, beforeAll, describe } from "@jest/globals";
import type { Store } from "../../shared/ports/store.ts";
import { appendSuite } from "./store/appends.ts";
import { type Bench, createBench } from "./store/bench.ts";
import { budgetSuite } from "./store/budgets.ts";
import { childSuite } from "./store/children.ts";
import { continueSuite } from "./store/continues.ts";
import { factSuite } from "./store/facts.ts";
import { leaseSuite } from "./store/leases.ts";
import { parkSuite } from "./store/parks.ts";
import { peopleSuite } from "./store/people.ts";
import { runSuite } from "./store/runs.ts";
import { valueSuite } from "./store/values.ts";
import { watchSuite } from "./store/watch.ts";
import { waveSuite } from "./store/waves.ts";

export interface StoreSubject {
  readonly store: Store;
  /** The same data as another worker has it. */
  readonly other: Store;
  /** An agent that has a place there, and nothing in it but what the suite writes. */
  readonly agent: string;
  /** Lets the store's clock go on by at least this. */
  passTime(ms: number): Promise<void>;
  close(): Promise<void>;
}

const SUITES = {
  leases: leaseSuite,
  appends: appendSuite,
  budgets: budgetSuite,
  values: valueSuite,
  facts: factSuite,
  parks: parkSuite,
  waves: waveSuite,
  children: childSuite,
  continues: continueSuite,
  runs: runSuite,
  people: peopleSuite,
  watch: watchSuite,
} as const;

/** `suites`: of a store that differs from another one in them alone. Default: all. */
export function storeConformance(
  what: string,
  open: () => Promise<StoreSubject>,
  suites: readonly (keyof typeof SUITES)[] = Object.keys(SUITES) as (keyof typeof SUITES)[],
): void {
  describe(what, () => {
    let subject: StoreSubject | undefined;
    let bench: Bench | undefined;
    beforeAll(async () => {
      subject = await open();
      bench = createBench(subject);
    });
    afterAll(() => subject?.close());
    const get = (): Bench => {
      if (bench === undefined) throw new Error("the store didn't open");
      return bench;
    };
    for (const name of suites) SUITES[name](get);
  });
}
