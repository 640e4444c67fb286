/** The sessions that calls of a session started: which call started which, and how they are asked about. */
import type { SubagentView, TimelineView } from '../../protocol/generated';
import { oncePerObject } from '../../protocol/oncePerObject';
import { count } from '../text/numberFormat';
import { money } from './labels';
import type { IInspectorPlace, IInspectorSource } from './source';

const NO_SUBAGENTS: readonly SubagentView[] = [];

const subagentsByCall = oncePerObject((view: TimelineView) => {
  const subagentLists = new Map<number, SubagentView[]>();
  for (const subagent of view.subagents) {
    if (subagent.call >= 0) {
      const others = subagentLists.get(subagent.call) ?? [];
      subagentLists.set(subagent.call, [...others, subagent]);
    }
  }
  return subagentLists;
});

/** Returns the subagents that a call started, by its item. */
export function subagentsOf(
  view: TimelineView,
  item: number
): readonly SubagentView[] {
  return subagentsByCall(view).get(item) ?? NO_SUBAGENTS;
}

/** Returns what subagents sent and cost together, short enough for a row: "14 requests · 0.12 USD". */
export function subagentFigures(
  view: TimelineView,
  subagents: readonly SubagentView[]
): string {
  const requestCount = subagents.reduce((sum, run) => sum + run.requests, 0);
  const costs = subagents.map(run => run.cost ?? null);
  const isFact = subagents.every(run => run.cost_is_fact);
  const cost = costs.reduce<number | null>(
    (sum, value) => (sum === null || value === null ? null : sum + value),
    0
  );
  return [
    requestCount === 1 ? '1 request' : `${count(requestCount)} requests`,
    ...(cost === null ? [] : [money(cost, view.price.unit, isFact)])
  ].join(' · ');
}

/** Returns the place at which a subagent's own inspector opens; prices and policy stay. */
export function subagentPlace(session: string): Partial<IInspectorPlace> {
  return {
    subagent: session,
    request: null,
    item: null,
    definition: null,
    against: null,
    range: null,
    filter: undefined,
    zoom: 0
  };
}

/**
 * Returns the source of a subagent; null where a report does not hold it.
 *
 * With a kernel it is the same one, which is asked about that session and cannot be written to.
 */
export function subagentSource(
  source: IInspectorSource,
  session: string
): IInspectorSource | null {
  if (source.subagentSource !== undefined) {
    return source.subagentSource(session);
  }
  return {
    ask: query => source.ask({ ...query, subagent: session }),
    subscribe: changed => source.subscribe?.(changed) ?? (() => undefined),
    get waitSentence(): string | undefined {
      return source.waitSentence;
    }
  };
}
