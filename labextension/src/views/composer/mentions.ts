/** The mentions that a prompt may hold: requested from the kernel, ranked, and grouped by kind. */
import { useEffect, useState } from 'react';
import type {
  Choices,
  MentionList,
  MentionPreview,
  MentionRow
} from '../../protocol/generated';
import { usePromptActions } from '../actions/prompts';
import type { IWords } from '../host';
import type { IOption } from '../controls/picker';
import { runAfter } from '../dom/effects';

/** Options of one kind, under its name. */
export interface IOptionGroup {
  name: string;
  /** How many there are; only the first of them are shown. */
  count: number;
  options: readonly IMentionOption[];
}

interface IMentionOption extends IOption {
  /** Whether the cell ended with an error. */
  failed?: boolean;
}

type OptionKind = MentionRow['kind'] | 'agent';

/** The order of the groups, where nothing else decides. */
const KINDS: readonly OptionKind[] = [
  'error',
  'variable',
  'cell',
  'out',
  'file',
  'agent'
];
/** The maximum number of options in a group beside others, and of one that stands alone. */
const SHOWN_BESIDE = 8;
const SHOWN_ALONE = 60;

/** Milliseconds without a key before the kernel is asked. */
export const PAUSE_MS = 200;
/** Milliseconds after which it is asked again for what it could not count while a cell ran. */
export const BUSY_MS = 3000;

/**
 * Returns the places of the words that have the typed letters in their order: first the very word, then
 * those that begin so. The kernel ranks the same (`session/prompts/mention_matches.py`).
 */
export function rankedMatches(
  words: readonly string[],
  typed: string
): number[] {
  const ranked: number[][] = [[], [], []];
  const letters = Array.from(typed.toLowerCase());
  words.forEach((word, index) => {
    let from = 0;
    const lower = word.toLowerCase();
    const isInOrder = letters.every(letter => {
      from = lower.indexOf(letter, from) + 1;
      return from > 0;
    });
    if (isInOrder) {
      ranked[matchRank(word, typed)]?.push(index);
    }
  });
  return ranked.flat();
}

function matchRank(word: string, typed: string): number {
  return word === typed ? 0 : word.startsWith(typed) ? 1 : 2;
}

/** Returns what the typed letters may mean, by kind; kinds with a better match first. */
export function mentionGroups(
  typed: string,
  rows: readonly MentionRow[],
  choices: Choices | null,
  words: IWords
): IOptionGroup[] {
  const names: Record<OptionKind, string> = {
    error: words.__('Newest error'),
    variable: words.__('Variables'),
    cell: words.__('Cells'),
    out: words.__('Outputs'),
    file: words.__('Files'),
    agent: words.__('Agents')
  };
  const options = KINDS.map(kind =>
    kind === 'agent'
      ? (choices?.subagents ?? []).map(({ name, description }) => ({
          value: name,
          about: description
        }))
      : rows
          .filter(row => row.kind === kind)
          .map(({ text, about, failed }) => ({ value: text, about, failed }))
  );
  const fetched = options
    .map((kindOptions, index) => {
      const places = rankedMatches(
        kindOptions.map(({ value }) => value),
        typed
      );
      const matching = places.flatMap(index => kindOptions[index] ?? []);
      const best = matchRank(matching[0]?.value ?? '', typed);
      return { name: names[KINDS[index] ?? 'agent'], matching, best };
    })
    .filter(({ matching }) => matching.length > 0)
    .sort((left, right) => left.best - right.best);
  const maxOptions = fetched.length === 1 ? SHOWN_ALONE : SHOWN_BESIDE;
  return fetched.map(({ name, matching }) => ({
    name,
    count: matching.length,
    options: matching.slice(0, maxOptions)
  }));
}

/** Returns what the kernel lists, requested again with each at sign; of many files those that match. */
export function useMentionRows(
  draftKey: string,
  /** Where the mention starts, or null while none is typed. */
  start: number | null,
  typed: string,
  agent: string | undefined
): readonly MentionRow[] {
  const prompts = usePromptActions();
  const [fetched, setFetched] = useState<{ of: string; list: MentionList }>();
  const [hasMore, setHasMore] = useState(false);
  const query = hasMore ? typed : '';
  useEffect(() => {
    if (start === null) {
      return;
    }
    return afterPause(query === '' ? 0 : PAUSE_MS, async isWanted => {
      const list = await prompts.mentions(query, agent);
      if (list !== null && isWanted()) {
        setFetched({ of: draftKey, list });
        if (query === '') {
          setHasMore(list.more === true);
        }
      }
    });
  }, [prompts, draftKey, start, query, agent]);
  return fetched?.of === draftKey ? fetched.list.rows : [];
}

/** Returns what would go along with each mention in a draft. */
export function useMentionPreviews(
  draftKey: string,
  text: string,
  agent: string | undefined
): readonly MentionPreview[] {
  const prompts = usePromptActions();
  const [fetched, setFetched] = useState<{
    of: string;
    all: MentionPreview[];
  }>();
  const [askCount, setAskCount] = useState(0);
  const isNaming = text.includes('@');
  useEffect(() => {
    if (isNaming) {
      return afterPause(PAUSE_MS, async isWanted => {
        const all = await prompts.previews(text, agent);
        if (isWanted()) {
          setFetched({ of: draftKey, all });
        }
      });
    }
    return undefined;
  }, [prompts, draftKey, text, agent, isNaming, askCount]);
  const isBusy = fetched?.all.some(({ state }) => state === 'busy') === true;
  useEffect(() => {
    return isBusy && isNaming
      ? runAfter(BUSY_MS, () => {
          setAskCount(askCount + 1);
        })
      : undefined;
  }, [isBusy, isNaming, askCount, fetched]);
  return fetched?.of === draftKey && isNaming
    ? fetched.all.filter(({ text: mention }) => isStillIn(text, mention))
    : [];
}

/** Runs work after a time; returns a function that cancels it, or has its result ignored. */
function afterPause(
  milliseconds: number,
  work: (isWanted: () => boolean) => unknown
): () => void {
  let isPending = true;
  const cancel = runAfter(milliseconds, () => {
    void work(() => isPending);
  });
  return () => {
    isPending = false;
    cancel();
  };
}

/** Returns whether a text still has a mention, not only the beginning of another. */
function isStillIn(text: string, mention: string): boolean {
  return text
    .split(mention)
    .slice(1)
    .some(rest => !/^\w/.test(rest));
}
