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

/** What is known of the list so far. */
interface IPromptList {
  of: string;
  prompts: string[];
  /** The end of the last page; null if there is none behind it, undefined before the first. */
  cursor: string | null | undefined;
}

export interface IPromptHistory {
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
  const known = useRef<IPromptList>({ of: '', prompts: [], cursor: undefined });
  /** Commands that were typed in this page, which are in no log, and drafts; the newest first. */
  const own = useRef<string[]>([]);
  const asked = useRef(0);
  const [walk, setWalk] = useState<(IWalk & { of: string }) | null>(null);
  const now =
    walk !== null && walk.of === draftKey && walk.shown === text ? walk : null;
  const all = (): string[] => {
    const { of, prompts } = known.current;
    return [...new Set([...own.current, ...(of === draftKey ? prompts : [])])];
  };
  const load = async (): Promise<void> => {
    const { cursor } = known.current;
    if (cursor === null) {
      return;
    }
    const page: ListedPrompts | null = await actions.history(cursor);
    const later = known.current;
    if (later.of === draftKey && later.cursor === cursor) {
      later.prompts.push(...(page?.prompts ?? []));
      later.cursor = page?.cursor ?? null;
    }
  };
  const show = (at: number, draft: string) => {
    const shown = all()[at];
    if (shown !== undefined) {
      setWalk({ of: draftKey, at, draft, shown });
      write(shown, 0);
    }
  };
  const older = async () => {
    const question = ++asked.current;
    const at = now === null ? 0 : now.at + 1;
    const draft = now?.draft ?? text;
    if (now === null) {
      // Cells may have asked since, so each walk begins with a new list.
      known.current = { of: draftKey, prompts: [], cursor: undefined };
    }
    while (all()[at] === undefined) {
      const { of, cursor } = known.current;
      if (of !== draftKey || cursor === null) {
        return; // another session came meanwhile, or there are no more
      }
      await load();
    }
    if (question === asked.current) {
      show(at, draft);
    }
  };
  const back = (draft: string) => {
    asked.current += 1;
    setWalk(null);
    write(draft, draft.length);
  };
  return {
    shown: now?.shown ?? '',
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
        void older();
      } else if (
        key === 'ArrowDown' &&
        now !== null &&
        !value.slice(selectionEnd).includes('\n')
      ) {
        if (now.at === 0) {
          back(now.draft);
        } else {
          show(now.at - 1, now.draft);
        }
      } else if (key === 'Escape' && now !== null) {
        back(now.draft);
      } else {
        return false;
      }
      event.preventDefault();
      return true;
    },
    edited: () => {
      asked.current += 1;
      if (now !== null && now.draft.trim() !== '') {
        // The draft before is the newest of the list, so that it is found again.
        own.current.unshift(now.draft);
      }
      setWalk(null);
    },
    sent: sent => {
      asked.current += 1;
      if (sent.startsWith('/')) {
        own.current.unshift(sent);
      }
      setWalk(null);
    }
  };
}
