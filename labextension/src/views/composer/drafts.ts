/**
 * Drafts of prompts, kept for each session, also over a reload.
 */
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
  const [kept] = useState(() => new Map<string, IDraft>());
  const of = (known: typeof drafts, name: string): IDraft => {
    const found =
      known[name] ??
      kept.get(name) ??
      keptDraft(sessionOf(name)) ??
      EMPTY_DRAFT;
    kept.set(name, found);
    return found;
  };
  let shown = drafts;
  if (last !== key) {
    setLast(key);
    const left = of(drafts, last);
    if (
      isSameNotebook(last, key) &&
      !isSwitchedHere &&
      left.text !== '' &&
      // A changed prompt belongs to the turn that it replaces.
      left.replaced === undefined
    ) {
      shown = {
        ...drafts,
        [last]: EMPTY_DRAFT,
        [key]: before(left, of(drafts, key))
      };
      setDrafts(shown);
    }
  }
  const change = (changed: (draft: IDraft) => IDraft) => {
    setDrafts(known => ({ ...known, [key]: changed(of(known, key)) }));
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
    draft: of(shown, key),
    write: text => {
      change(draft => ({ ...draft, text }));
    },
    choose: chosen => {
      change(draft => ({ ...draft, chosen }));
    },
    keep: chosen => {
      change(draft => ({
        ...draft,
        chosen: { ...chosen, ...draft.chosen, ...files(chosen, draft.chosen) }
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
      change(draft => before({ text, chosen }, draft));
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
function before(one: IDraft, other: IDraft): IDraft {
  return {
    ...other,
    text: other.text === '' ? one.text : `${one.text}\n\n${other.text}`,
    chosen: {
      ...other.chosen,
      ...one.chosen,
      ...files(one.chosen, other.chosen)
    }
  };
}

/** Returns the session in a key of the panel's state; empty where it names none. */
function sessionOf(key: string): string {
  return key.split(' ')[1] ?? '';
}

function isSameNotebook(one: string, other: string): boolean {
  const [notebook, session] = one.split(' ');
  return session !== undefined && other.split(' ')[0] === notebook;
}

/** Returns the files of both, if there are any. */
function files(one: IPromptOptions, other: IPromptOptions): IPromptOptions {
  const all = [...filesOf(one), ...filesOf(other)];
  return all.length > 0 ? { files: all } : {};
}

const CHOSEN = [
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
  const kept = CHOSEN.filter(
    name => options[name] !== undefined && options[name] !== null
  );
  return Object.fromEntries(kept.map(name => [name, options[name]]));
}

/** Returns the files in the options, which a kernel of another version may extend. */
export function filesOf({ files }: IPromptOptions): readonly Attachment[] {
  return Array.isArray(files) ? files : [];
}
