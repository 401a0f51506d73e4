// The runs around a run: who started it, and which its workflow has started.
import { grouped, shortId } from "../../local/terminal/units.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { href } from "../model/route.ts";
import { Cost, StatusBadge, Time } from "./basics.tsx";

export const Parent = ({ run }: { readonly run: RunJson }) =>
  run.parent === null ? null : (
    <span>
      , a child of{" "}
      <a class="link mono" href={href("runs", run.parent)}>
        {shortId(run.parent)}
      </a>
    </span>
  );

export const Children = ({ run }: { readonly run: RunJson }) =>
  run.below === null ? null : (
    <section class="panel" aria-label="Child runs">
      <h2 class="small soft">
        Child runs: {grouped(run.below.runs)} below, {grouped(run.below.modelCalls)} model calls,{" "}
        {run.below.costUsd === null ? (
          "at an unknown price"
        ) : (
          <Cost usd={run.below.costUsd} simulated={run.below.simulated} />
        )}
      </h2>
      <ul class="stack plain">
        {run.children.map((child) => (
          <li key={child.runId} class="row wrap">
            <a class="link mono" href={href("runs", child.runId)}>
              {shortId(child.runId)}
            </a>
            <span>{child.process}</span>
            <StatusBadge status={child.status} />
            <span class="soft small">
              <Time at={child.createdAt} />
            </span>
          </li>
        ))}
      </ul>
      {run.childCount > run.children.length ? (
        <p class="soft small">and {grouped(run.childCount - run.children.length)} more</p>
      ) : null}
    </section>
  );
