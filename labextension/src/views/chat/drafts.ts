/**
 * What a person has begun to write, kept by notebook and session.
 */
import { useState } from 'react';
import type { PromptAdmitted } from '../../protocol/generated';
import type { IChosen } from './model';

export interface IDraft {
  text: string;
  chosen: IChosen;
}

export interface IDrafts {
  draft: IDraft;
  write(text: string): void;
  choose(chosen: IChosen): void;
  /** Puts words before what is there, with what was chosen for them. */
  giveBack(text: string, chosen: IChosen): void;
}

const NOTHING: IDraft = { text: '', chosen: {} };

/** Returns the draft of a notebook's session, and how to change it. */
export function useDrafts(key: string): IDrafts {
  const [drafts, setDrafts] = useState<Partial<Record<string, IDraft>>>({});
  const change = (changed: (draft: IDraft) => IDraft) => {
    setDrafts(before => ({
      ...before,
      [key]: changed(before[key] ?? NOTHING)
    }));
  };
  return {
    draft: drafts[key] ?? NOTHING,
    write: text => {
      change(draft => ({ ...draft, text }));
    },
    choose: chosen => {
      change(draft => ({ ...draft, chosen }));
    },
    giveBack: (text, chosen) => {
      change(draft => ({
        text: draft.text === '' ? text : `${text}\n${draft.text}`,
        chosen: { ...draft.chosen, ...chosen }
      }));
    }
  };
}

/** Returns what was chosen for a prompt that waits. */
export function chosenFor({ options }: PromptAdmitted): IChosen {
  const { agent, model } = options;
  return {
    ...(typeof model === 'string' ? { model } : {}),
    ...(typeof agent === 'string' ? { agent } : {})
  };
}
