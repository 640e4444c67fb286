/** Drafts of prompts, kept for each session, also over a reload. */
import { useEffect, useState } from 'react';
import type {
  Attachment,
  Message,
  PromptAdmitted,
  SessionInfo
} from '../../protocol/generated';
import type { IPromptOptions } from '../actions/prompts';
import { sentPromptOptions, promptExcerpt, promptText } from './editedTurn';
import {
  storeDraft,
  storedDraft,
  type IDraft,
  type IEditedTurn
} from './keptDrafts';

export interface IDrafts {
  draft: IDraft;
  write(text: string): void;
  chooseOptions(options: IPromptOptions): void;
  /** Adds options that are not chosen since, such as those that a command left as they were. */
  addOptions(options: IPromptOptions): void;
  /** Puts text and its options back, before the present draft; the changed prompt of a turn replaces that draft. */
  giveBack(
    text: string,
    options: IPromptOptions,
    replacedTurn?: IEditedTurn
  ): void;
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
  const [lastKey, setLastKey] = useState(key);
  // The panel is drawn often while an answer streams: the browser's storage is read once a session.
  const [draftCache] = useState(() => new Map<string, IDraft>());
  const draftOf = (knownDrafts: typeof drafts, draftKey: string): IDraft => {
    const knownDraft =
      knownDrafts[draftKey] ??
      draftCache.get(draftKey) ??
      storedDraft(sessionOf(draftKey)) ??
      EMPTY_DRAFT;
    draftCache.set(draftKey, knownDraft);
    return knownDraft;
  };
  let currentDrafts = drafts;
  if (lastKey !== key) {
    setLastKey(key);
    const lastDraft = draftOf(drafts, lastKey);
    if (
      isSameNotebook(lastKey, key) &&
      !isSwitchedHere &&
      lastDraft.text !== '' &&
      // A changed prompt belongs to the turn that it replaces.
      lastDraft.replaced === undefined
    ) {
      currentDrafts = {
        ...drafts,
        [lastKey]: EMPTY_DRAFT,
        [key]: joinDrafts(lastDraft, draftOf(drafts, key))
      };
      setDrafts(currentDrafts);
    }
  }
  const change = (changeDraft: (draft: IDraft) => IDraft) => {
    setDrafts(knownDrafts => ({
      ...knownDrafts,
      [key]: changeDraft(draftOf(knownDrafts, key))
    }));
  };
  useEffect(() => {
    for (const [draftKey, draft] of Object.entries(drafts)) {
      const session = sessionOf(draftKey);
      if (session !== '' && draft !== undefined) {
        storeDraft(session, draft);
      }
    }
  }, [drafts]);
  return {
    draft: draftOf(currentDrafts, key),
    write: text => {
      change(draft => ({ ...draft, text }));
    },
    chooseOptions: options => {
      change(draft => ({ ...draft, chosen: options }));
    },
    addOptions: options => {
      change(draft => ({
        ...draft,
        chosen: {
          ...options,
          ...draft.chosen,
          ...joinFiles(options, draft.chosen)
        }
      }));
    },
    giveBack: (text, options, replacedTurn) => {
      if (replacedTurn !== undefined) {
        change(before => ({
          text,
          chosen: options,
          replaced: { ...replacedTurn, before: withoutTurn(before) }
        }));
        return;
      }
      change(draft => joinDrafts({ text, chosen: options }, draft));
    },
    edit: (prompt, session) => {
      const text = promptText(prompt);
      change(before => ({
        text,
        chosen: sentPromptOptions(prompt, session),
        replaced: {
          turn: prompt.info.id,
          overwrite: [],
          excerpt: promptExcerpt(text),
          before: withoutTurn(before)
        }
      }));
    },
    overwrite: files => {
      change(({ replaced, ...draft }) => ({
        ...draft,
        replaced: replaced && { ...replaced, overwrite: files }
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
  const files = [...filesOf(first), ...filesOf(second)];
  return files.length > 0 ? { files } : {};
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
export function queuedPromptOptions({
  options
}: PromptAdmitted): IPromptOptions {
  const present = OPTION_NAMES.filter(
    name => options[name] !== undefined && options[name] !== null
  );
  return Object.fromEntries(present.map(name => [name, options[name]]));
}

/** Returns the files in the options, which a kernel of another version may extend. */
export function filesOf({ files }: IPromptOptions): readonly Attachment[] {
  return Array.isArray(files) ? files : [];
}
