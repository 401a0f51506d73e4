/** What was opened last is closed first; one that fails doesn't keep the others open. @throws what failed first. */
export async function closeAll(opened: (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of opened.splice(0).toReversed()) await close().catch((e) => failures.push(e));
  if (failures.length > 0) throw failures[0];
}
