/** Drafts of prompts, kept for each session, also over a reload. */
import { useEffect, useState } from 'react';
import type {
  Attachment,
  Message,
  PromptAdmitted,
  SessionInfo
} from '../../protocol/generated';
import type { IPromptOptions } from '../actions/prompts';
import { chosenOf, promptExcerpt, promptText } from './editedTurn';
import {
  keepDraft,
  keptDraft,
  type IDraft,
  type IEditedTurn
} from './keptDrafts';

export interface IDrafts {
  draft: IDraft;
  write(text: string): void;
  choose(chosen: IPromptOptions): void;
  /** Adds options that are not chosen since, such as those that a command left as they were. */
  keep(chosen: IPromptOptions): void;
  /** Puts text and its options back, before the present draft; the changed prompt of a turn in its place. */
  giveBack(text: string, chosen: IPromptOptions, replaced?: IEditedTurn): void;
  /** Begins to change the prompt of a turn. */
  edit(prompt: Message, session: SessionInfo | undefined): void;
  /** Chooses the files to overwrite when the changed prompt is sent. */
  overwrite(files: readonly string[]): void;
  /** Ends a draft that was sent or given up; the one of before a changed prompt comes back. */
  end(): void;
}

const EMPTY_DRAFT: IDraft = { text: '', chosen: {} };

/**
 * Returns the draft of a notebook's session, and functions to change it.
 *
 * A draft goes along when a cell switches the notebook to another session, since the user is still typing
 * it; it stays where it was written when the panel switches.
 */
export function useDrafts(key: string, isSwitchedHere = false): IDrafts {
  const [drafts, setDrafts] = useState<Partial<Record<string, IDraft>>>({});
  const [last, setLast] = useState(key);
  // The panel is drawn often while an answer streams: the browser's storage is read once a session.
  const [draftCache] = useState(() => new Map<string, IDraft>());
  const draftOf = (known: typeof drafts, name: string): IDraft => {
    const stored =
      known[name] ??
      draftCache.get(name) ??
      keptDraft(sessionOf(name)) ??
      EMPTY_DRAFT;
    draftCache.set(name, stored);
    return stored;
  };
  let shownDrafts = drafts;
  if (last !== key) {
    setLast(key);
    const lastDraft = draftOf(drafts, last);
    if (
      isSameNotebook(last, key) &&
      !isSwitchedHere &&
      lastDraft.text !== '' &&
      // A changed prompt belongs to the turn that it replaces.
      lastDraft.replaced === undefined
    ) {
      shownDrafts = {
        ...drafts,
        [last]: EMPTY_DRAFT,
        [key]: joinDrafts(lastDraft, draftOf(drafts, key))
      };
      setDrafts(shownDrafts);
    }
  }
  const change = (changed: (draft: IDraft) => IDraft) => {
    setDrafts(known => ({ ...known, [key]: changed(draftOf(known, key)) }));
  };
  useEffect(() => {
    for (const [name, draft] of Object.entries(drafts)) {
      const session = sessionOf(name);
      if (session !== '' && draft !== undefined) {
        keepDraft(session, draft);
      }
    }
  }, [drafts]);
  return {
    draft: draftOf(shownDrafts, key),
    write: text => {
      change(draft => ({ ...draft, text }));
    },
    choose: chosen => {
      change(draft => ({ ...draft, chosen }));
    },
    keep: chosen => {
      change(draft => ({
        ...draft,
        chosen: {
          ...chosen,
          ...draft.chosen,
          ...joinFiles(chosen, draft.chosen)
        }
      }));
    },
    giveBack: (text, chosen, replaced) => {
      if (replaced !== undefined) {
        change(before => ({
          text,
          chosen,
          replaced: { ...replaced, before: withoutTurn(before) }
        }));
        return;
      }
      change(draft => joinDrafts({ text, chosen }, draft));
    },
    edit: (prompt, session) => {
      const text = promptText(prompt);
      change(before => ({
        text,
        chosen: chosenOf(prompt, session),
        replaced: {
          turn: prompt.info.id,
          overwrite: [],
          excerpt: promptExcerpt(text),
          before: withoutTurn(before)
        }
      }));
    },
    overwrite: overwritten => {
      change(({ replaced, ...draft }) => ({
        ...draft,
        replaced: replaced && { ...replaced, overwrite: overwritten }
      }));
    },
    end: () => {
      change(({ replaced }) => replaced?.before ?? EMPTY_DRAFT);
    }
  };
}

/** Returns a draft as it was before a turn's prompt was changed in its place. */
function withoutTurn(draft: IDraft): IDraft {
  return draft.replaced?.before ?? draft;
}

/** Returns two drafts as one. */
function joinDrafts(first: IDraft, second: IDraft): IDraft {
  return {
    ...second,
    text: second.text === '' ? first.text : `${first.text}\n\n${second.text}`,
    chosen: {
      ...second.chosen,
      ...first.chosen,
      ...joinFiles(first.chosen, second.chosen)
    }
  };
}

/** Returns the session in a key of the panel's state; empty where it names none. */
function sessionOf(key: string): string {
  return key.split(' ')[1] ?? '';
}

function isSameNotebook(key: string, otherKey: string): boolean {
  const [notebook, session] = key.split(' ');
  return session !== undefined && otherKey.split(' ')[0] === notebook;
}

/** Returns the files of both, if there are any. */
function joinFiles(
  first: IPromptOptions,
  second: IPromptOptions
): IPromptOptions {
  const all = [...filesOf(first), ...filesOf(second)];
  return all.length > 0 ? { files: all } : {};
}

const OPTION_NAMES = [
  'agent',
  'files',
  'max_steps',
  'model',
  'system',
  'tools',
  'variant'
] as const satisfies readonly (keyof IPromptOptions)[];

/** Returns the options of a queued prompt, which the kernel keeps as they were sent. */
export function chosenFor({ options }: PromptAdmitted): IPromptOptions {
  const present = OPTION_NAMES.filter(
    name => options[name] !== undefined && options[name] !== null
  );
  return Object.fromEntries(present.map(name => [name, options[name]]));
}

/** Returns the files in the options, which a kernel of another version may extend. */
export function filesOf({ files }: IPromptOptions): readonly Attachment[] {
  return Array.isArray(files) ? files : [];
}
