/**
 * Drafts of prompts, kept for each notebook and session.
 */
import { useState } from 'react';
import type { Attachment, PromptAdmitted } from '../../protocol/generated';
import type { IPromptOptions } from '../actions/prompts';

interface IDraft {
  text: string;
  chosen: IPromptOptions;
}

export interface IDrafts {
  draft: IDraft;
  write(text: string): void;
  choose(chosen: IPromptOptions): void;
  /** Puts text and its options back, before the present draft. */
  giveBack(text: string, chosen: IPromptOptions): void;
}

const EMPTY_DRAFT: IDraft = { text: '', chosen: {} };

/** Returns the draft of a notebook's session, and functions to change it. */
export function useDrafts(key: string): IDrafts {
  const [drafts, setDrafts] = useState<Partial<Record<string, IDraft>>>({});
  const change = (changed: (draft: IDraft) => IDraft) => {
    setDrafts(before => ({
      ...before,
      [key]: changed(before[key] ?? EMPTY_DRAFT)
    }));
  };
  return {
    draft: drafts[key] ?? EMPTY_DRAFT,
    write: text => {
      change(draft => ({ ...draft, text }));
    },
    choose: chosen => {
      change(draft => ({ ...draft, chosen }));
    },
    giveBack: (text, chosen) => {
      change(draft => ({
        text: draft.text === '' ? text : `${text}\n${draft.text}`,
        chosen: { ...draft.chosen, ...chosen, ...files(chosen, draft.chosen) }
      }));
    }
  };
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
