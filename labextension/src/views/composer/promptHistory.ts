/**
 * Earlier prompts of the project in the text field, by the arrow keys.
 *
 * Responsibilities: request pages of them from the kernel; keep the draft that was being typed, which
 * comes back below the newest one, and by Escape.
 */
import { useRef, useState, type KeyboardEvent } from 'react';
import type { ListedPrompts } from '../../protocol/generated';
import { usePromptActions } from '../actions/prompts';

/** A walk through earlier prompts. */
interface IWalk {
  /** The place in the list; 0 is the newest. */
  at: number;
  /** The draft that was being typed. */
  draft: string;
  /** The prompt that is shown. */
  shown: string;
}

/** The part of the list that was received so far. */
interface IPromptList {
  of: string;
  prompts: string[];
  /** The end of the last page; null if there is none behind it, undefined before the first. */
  cursor: string | null | undefined;
}

interface IPromptHistory {
  /** The earlier prompt in the field; empty where a draft is in it. */
  shown: string;
  /** Handles a key; returns whether it was used. */
  onKey(event: KeyboardEvent<HTMLTextAreaElement>): boolean;
  /** Notes what was typed over an earlier prompt, which is a draft from then on. */
  edited(): void;
  /** Notes a prompt that was sent. */
  sent(text: string): void;
}

/** Returns the history for a text field; it begins anew with another session. */
export function usePromptHistory(
  draftKey: string,
  text: string,
  write: (text: string, caret: number) => void
): IPromptHistory {
  const actions = usePromptActions();
  const listed = useRef<IPromptList>({
    of: '',
    prompts: [],
    cursor: undefined
  });
  /** Commands that were typed in this page, which are in no log, and drafts; the newest first. */
  const pagePrompts = useRef<string[]>([]);
  const questionNumber = useRef(0);
  const [walk, setWalk] = useState<(IWalk & { of: string }) | null>(null);
  const currentWalk =
    walk !== null && walk.of === draftKey && walk.shown === text ? walk : null;
  const allPrompts = (): string[] => {
    const { of, prompts } = listed.current;
    return [
      ...new Set([...pagePrompts.current, ...(of === draftKey ? prompts : [])])
    ];
  };
  const load = async (): Promise<void> => {
    const { cursor } = listed.current;
    if (cursor === null) {
      return;
    }
    const page: ListedPrompts | null = await actions.history(cursor);
    const later = listed.current;
    if (later.of === draftKey && later.cursor === cursor) {
      later.prompts.push(...(page?.prompts ?? []));
      later.cursor = page?.cursor ?? null;
    }
  };
  const show = (at: number, draft: string) => {
    const olderPrompt = allPrompts()[at];
    if (olderPrompt !== undefined) {
      setWalk({ of: draftKey, at, draft, shown: olderPrompt });
      write(olderPrompt, 0);
    }
  };
  const showOlder = async () => {
    const question = ++questionNumber.current;
    const at = currentWalk === null ? 0 : currentWalk.at + 1;
    const draft = currentWalk?.draft ?? text;
    if (currentWalk === null) {
      // Cells may have asked since, so each walk begins with a new list.
      listed.current = { of: draftKey, prompts: [], cursor: undefined };
    }
    while (allPrompts()[at] === undefined) {
      const { of, cursor } = listed.current;
      if (of !== draftKey || cursor === null) {
        return; // another session came meanwhile, or there are no more
      }
      await load();
    }
    if (question === questionNumber.current) {
      show(at, draft);
    }
  };
  const restoreDraft = (draft: string) => {
    questionNumber.current += 1;
    setWalk(null);
    write(draft, draft.length);
  };
  return {
    shown: currentWalk?.shown ?? '',
    onKey: event => {
      const { key, currentTarget: field } = event;
      const { selectionStart, selectionEnd, value } = field;
      if (
        event.shiftKey ||
        event.ctrlKey ||
        event.altKey ||
        event.metaKey ||
        selectionStart !== selectionEnd
      ) {
        return false;
      }
      if (key === 'ArrowUp' && !value.slice(0, selectionStart).includes('\n')) {
        void showOlder();
      } else if (
        key === 'ArrowDown' &&
        currentWalk !== null &&
        !value.slice(selectionEnd).includes('\n')
      ) {
        if (currentWalk.at === 0) {
          restoreDraft(currentWalk.draft);
        } else {
          show(currentWalk.at - 1, currentWalk.draft);
        }
      } else if (key === 'Escape' && currentWalk !== null) {
        restoreDraft(currentWalk.draft);
      } else {
        return false;
      }
      event.preventDefault();
      return true;
    },
    edited: () => {
      questionNumber.current += 1;
      if (currentWalk !== null && currentWalk.draft.trim() !== '') {
        // The draft before is the newest of the list, so that it is found again.
        pagePrompts.current.unshift(currentWalk.draft);
      }
      setWalk(null);
    },
    sent: sent => {
      questionNumber.current += 1;
      if (sent.startsWith('/')) {
        pagePrompts.current.unshift(sent);
      }
      setWalk(null);
    }
  };
}
