// A world in which nothing that acts is asked anew unless somebody decided so (I6b), and that keeps its own books of it.
import assert from "node:assert/strict";
import type { WorkflowFn } from "../../../shared/core/workflow/context.ts";
import { planTick, type TickPlan } from "../../../shared/core/workflow/plan.ts";
import { dropped, newWork } from "../../../shared/core/workflow/repeat.ts";
import type { Advance, Decision } from "../../../shared/core/workflow/schedule.ts";
import { Paid } from "./world.ts";

export class Asked extends Paid {
  questions = 0;
  standing = 0;
  givenUp = 0;
  readonly wrong: string[] = [];
  readonly #acts: (role: string) => boolean;
  readonly #decisions: readonly number[];
  readonly #allowed = new Set<string>();
  #generation = 0;
  #giveUp: readonly string[] = [];

  /** `decisions`: keep where even, and something can be kept; else rerun. */
  constructor(acts: (role: string) => boolean, decisions: readonly number[]) {
    super();
    this.#acts = acts;
    this.#decisions = decisions;
  }

  /** Other code is another generation: what was given up for the one before isn't for this one. */
  override async go(workflow: WorkflowFn, how: readonly number[], max: number): Promise<void> {
    this.#generation++;
    this.#allowed.clear();
    await super.go(workflow as never, how, max);
  }

  override record(result: Advance): void {
    super.record(result);
    if (this.#giveUp.length === 0) return;
    this.givenUp += this.#giveUp.length;
    this.add({ type: "TasksGivenUp", tasks: [...this.#giveUp], generation: this.#generation });
    this.#giveUp = [];
  }

  protected override plan(decisions: readonly Decision[]): TickPlan {
    const { history, digests, raw } = this;
    const plan = planTick(decisions, history, { digests });
    const acted = dropped(history, plan, this.#generation).tasks.filter((id) => this.#hasActed(id));
    if (acted.length === 0 || newWork(plan, raw, (role) => role !== null && this.#acts(role)).length === 0)
      return this.#checked(plan);
    const begun = dropped(history, plan, this.#generation).tasks.filter((id) => this.done.has(id));
    const kept = planTick(decisions, history, { digests, keeping: new Map(begun.map((id) => [id, this.#roleOf(id)])) });
    const choice = this.#decisions[this.questions++ % this.#decisions.length] ?? 0;
    if (choice % 2 === 0 && kept.standIns.length > 0) return this.#keep(kept);
    for (const id of acted) this.#allowed.add(id);
    this.#giveUp = acted;
    return this.#checked(plan);
  }

  #keep(kept: TickPlan): TickPlan {
    this.standing += kept.standIns.length;
    for (const { task, role } of kept.standIns) assert.equal(this.#roleOf(task), role);
    const claimed = new Set(kept.waves.flatMap((w) => w.claimed));
    const left = this.#out().filter((id) => this.done.has(id) && !claimed.has(id));
    for (const { role } of kept.waves.flatMap((w) => w.fresh))
      if (left.some((id) => this.#roleOf(id) === role)) this.wrong.push(`a task of ${role} is new, and one was free`);
    return kept;
  }

  /** By the books alone: whatever was ever asked and acted, and no plan holds, was decided about before anything like it is asked again. */
  #checked(plan: TickPlan): TickPlan {
    const claimed = new Set(plan.waves.flatMap((w) => w.claimed));
    const out = this.#out().filter((id) => this.#hasActed(id) && !claimed.has(id) && !this.#allowed.has(id));
    const fresh = plan.waves.flatMap((w) => w.fresh).filter(({ role }) => this.#acts(role));
    if (out.length > 0 && fresh.length > 0)
      this.wrong.push(`${fresh[0]?.taskId} is new, and nobody was told of ${out}`);
    return plan;
  }

  /** Tasks that were planned once, and that no effective plan holds. */
  #out(): string[] {
    const held = new Set([...this.history.plans.values()].flatMap((plan) => plan.tasks));
    return [...this.contents.keys()].filter((id) => !held.has(id));
  }
  #hasActed(id: string): boolean {
    return this.done.has(id) && this.#acts(this.#roleOf(id));
  }
  #roleOf(id: string): string {
    return (JSON.parse(this.contents.get(id) ?? "[]") as [string])[0];
  }
}
