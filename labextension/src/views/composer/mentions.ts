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
  /** How many options match; `options` holds the first of them. */
  count: number;
  options: readonly IMentionOption[];
}

interface IMentionOption extends IOption {
  /** Whether the cell ended with an error. */
  failed?: boolean;
}

type OptionKind = MentionRow['kind'] | 'agent';

/** The order of the groups, where nothing else decides. */
const KIND_ORDER: readonly OptionKind[] = [
  'error',
  'variable',
  'cell',
  'out',
  'file',
  'agent'
];
/** The maximum number of options in a group beside others, and of one that stands alone. */
const MAX_BESIDE_OTHERS = 8;
const MAX_ALONE = 60;

/** Milliseconds without a key before the kernel is asked. */
export const TYPING_PAUSE_MS = 200;
/** Milliseconds after which it is asked again for what it could not count while a cell ran. */
export const BUSY_RETRY_MS = 3000;

/**
 * Returns the indexes of the words that have the typed letters in their order: first the very word, then
 * those that begin so. The kernel ranks the same (`session/prompts/mention_matches.py`).
 */
export function rankedMatches(
  words: readonly string[],
  typedText: string
): number[] {
  const ranked: number[][] = [[], [], []];
  const letters = Array.from(typedText.toLowerCase());
  words.forEach((word, index) => {
    let nextIndex = 0;
    const lowerWord = word.toLowerCase();
    const isInOrder = letters.every(letter => {
      nextIndex = lowerWord.indexOf(letter, nextIndex) + 1;
      return nextIndex > 0;
    });
    if (isInOrder) {
      ranked[matchRank(word, typedText)]?.push(index);
    }
  });
  return ranked.flat();
}

function matchRank(word: string, typedText: string): number {
  return word === typedText ? 0 : word.startsWith(typedText) ? 1 : 2;
}

/** Returns what the typed letters may mean, by kind; kinds with a better match first. */
export function mentionGroups(
  typedText: string,
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
  const options = KIND_ORDER.map(kind =>
    kind === 'agent'
      ? (choices?.subagents ?? []).map(({ name, description }) => ({
          value: name,
          about: description
        }))
      : rows
          .filter(row => row.kind === kind)
          .map(({ text, about, failed }) => ({ value: text, about, failed }))
  );
  const matchingKinds = options
    .map((kindOptions, index) => {
      const indexes = rankedMatches(
        kindOptions.map(({ value }) => value),
        typedText
      );
      const matching = indexes.flatMap(index => kindOptions[index] ?? []);
      const bestRank = matchRank(matching[0]?.value ?? '', typedText);
      return { name: names[KIND_ORDER[index] ?? 'agent'], matching, bestRank };
    })
    .filter(({ matching }) => matching.length > 0)
    .sort((left, right) => left.bestRank - right.bestRank);
  const maxOptions = matchingKinds.length === 1 ? MAX_ALONE : MAX_BESIDE_OTHERS;
  return matchingKinds.map(({ name, matching }) => ({
    name,
    count: matching.length,
    options: matching.slice(0, maxOptions)
  }));
}

/** Returns what the kernel lists, requested again with each at sign; of many files those that match. */
export function useMentionRows(
  draftKey: string,
  /** Where the mention starts, or null while none is typed. */
  mentionStart: number | null,
  typedText: string,
  agent: string | undefined
): readonly MentionRow[] {
  const prompts = usePromptActions();
  const [fetchedList, setFetchedList] = useState<{
    draftKey: string;
    list: MentionList;
  }>();
  const [hasMore, setHasMore] = useState(false);
  const query = hasMore ? typedText : '';
  useEffect(() => {
    if (mentionStart === null) {
      return;
    }
    return afterPause(query === '' ? 0 : TYPING_PAUSE_MS, async isWanted => {
      const list = await prompts.mentions(query, agent);
      if (list !== null && isWanted()) {
        setFetchedList({ draftKey, list });
        if (query === '') {
          setHasMore(list.more === true);
        }
      }
    });
  }, [prompts, draftKey, mentionStart, query, agent]);
  return fetchedList?.draftKey === draftKey ? fetchedList.list.rows : [];
}

/** Returns what would go along with each mention in a draft. */
export function useMentionPreviews(
  draftKey: string,
  text: string,
  agent: string | undefined
): readonly MentionPreview[] {
  const prompts = usePromptActions();
  const [fetchedPreviews, setFetchedPreviews] = useState<{
    draftKey: string;
    previews: MentionPreview[];
  }>();
  const [askCount, setAskCount] = useState(0);
  const hasMention = text.includes('@');
  useEffect(() => {
    if (hasMention) {
      return afterPause(TYPING_PAUSE_MS, async isWanted => {
        const previews = await prompts.previews(text, agent);
        if (isWanted()) {
          setFetchedPreviews({ draftKey, previews });
        }
      });
    }
    return undefined;
  }, [prompts, draftKey, text, agent, hasMention, askCount]);
  const isBusy =
    fetchedPreviews?.previews.some(({ state }) => state === 'busy') === true;
  useEffect(() => {
    return isBusy && hasMention
      ? runAfter(BUSY_RETRY_MS, () => {
          setAskCount(askCount + 1);
        })
      : undefined;
  }, [isBusy, hasMention, askCount, fetchedPreviews]);
  return fetchedPreviews?.draftKey === draftKey && hasMention
    ? fetchedPreviews.previews.filter(({ text: mention }) =>
        isStillIn(text, mention)
      )
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
