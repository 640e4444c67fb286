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
  /** The index in the list; 0 is the newest. */
  index: number;
  /** The draft that was being typed. */
  draft: string;
  /** The prompt that is shown. */
  shownPrompt: string;
}

/** The part of the list that was received so far. */
interface IPromptList {
  draftKey: string;
  prompts: string[];
  /** The end of the last page; null if there is none behind it, undefined before the first. */
  cursor: string | null | undefined;
}

interface IPromptHistory {
  /** The earlier prompt in the field; empty where a draft is in it. */
  shownPrompt: string;
  /** Handles a key; returns whether it was used. */
  onKey(event: KeyboardEvent<HTMLTextAreaElement>): boolean;
  /** Notes what was typed over an earlier prompt, which is a draft from then on. */
  noteEdit(): void;
  /** Notes a prompt that was sent. */
  noteSent(text: string): void;
}

/** Returns the history for a text field; it begins anew with another session. */
export function usePromptHistory(
  draftKey: string,
  text: string,
  write: (text: string, caret: number) => void
): IPromptHistory {
  const actions = usePromptActions();
  const loadedList = useRef<IPromptList>({
    draftKey: '',
    prompts: [],
    cursor: undefined
  });
  /** Commands that were typed in this page, which are in no log, and drafts; the newest first. */
  const pagePrompts = useRef<string[]>([]);
  const requestNumber = useRef(0);
  const [walk, setWalk] = useState<(IWalk & { draftKey: string }) | null>(null);
  const currentWalk =
    walk !== null && walk.draftKey === draftKey && walk.shownPrompt === text
      ? walk
      : null;
  const allPrompts = (): string[] => {
    const list = loadedList.current;
    const loadedPrompts = list.draftKey === draftKey ? list.prompts : [];
    return [...new Set([...pagePrompts.current, ...loadedPrompts])];
  };
  const loadPage = async (): Promise<void> => {
    const { cursor } = loadedList.current;
    if (cursor === null) {
      return;
    }
    const page: ListedPrompts | null = await actions.history(cursor);
    const listNow = loadedList.current;
    if (listNow.draftKey === draftKey && listNow.cursor === cursor) {
      listNow.prompts.push(...(page?.prompts ?? []));
      listNow.cursor = page?.cursor ?? null;
    }
  };
  const showPrompt = (index: number, draft: string) => {
    const olderPrompt = allPrompts()[index];
    if (olderPrompt !== undefined) {
      setWalk({ draftKey, index, draft, shownPrompt: olderPrompt });
      write(olderPrompt, 0);
    }
  };
  const showOlder = async () => {
    const ownRequest = ++requestNumber.current;
    const index = currentWalk === null ? 0 : currentWalk.index + 1;
    const draft = currentWalk?.draft ?? text;
    if (currentWalk === null) {
      // Cells may have asked since, so each walk begins with a new list.
      loadedList.current = { draftKey, prompts: [], cursor: undefined };
    }
    while (allPrompts()[index] === undefined) {
      const list = loadedList.current;
      if (list.draftKey !== draftKey || list.cursor === null) {
        return; // another session came meanwhile, or there are no more
      }
      await loadPage();
    }
    if (ownRequest === requestNumber.current) {
      showPrompt(index, draft);
    }
  };
  const restoreDraft = (draft: string) => {
    requestNumber.current += 1;
    setWalk(null);
    write(draft, draft.length);
  };
  return {
    shownPrompt: currentWalk?.shownPrompt ?? '',
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
        if (currentWalk.index === 0) {
          restoreDraft(currentWalk.draft);
        } else {
          showPrompt(currentWalk.index - 1, currentWalk.draft);
        }
      } else if (key === 'Escape' && currentWalk !== null) {
        restoreDraft(currentWalk.draft);
      } else {
        return false;
      }
      event.preventDefault();
      return true;
    },
    noteEdit: () => {
      requestNumber.current += 1;
      if (currentWalk !== null && currentWalk.draft.trim() !== '') {
        // The draft before is the newest of the list, so that it is found again.
        pagePrompts.current.unshift(currentWalk.draft);
      }
      setWalk(null);
    },
    noteSent: sentText => {
      requestNumber.current += 1;
      if (sentText.startsWith('/')) {
        pagePrompts.current.unshift(sentText);
      }
      setWalk(null);
    }
  };
}
