/** Actions on prompts. */
import type {
  Attachment,
  Choices,
  ListedButtons,
  ListedPrompts,
  MentionList,
  MentionPreview,
  OperationButton,
  PastedFile,
  Prompt,
  PromptAdmitted,
  TypedAnswer
} from '../../protocol/generated';
import { createActionContext } from './actionContext';

/** Options that the user chose for a prompt; otherwise the session's apply. */
export type IPromptOptions = Partial<
  Pick<
    Prompt,
    'agent' | 'files' | 'max_steps' | 'model' | 'system' | 'tools' | 'variant'
  >
>;

/** A turn that a changed prompt replaces. */
export interface IReplacedTurn {
  turn: string;
  /** Files to overwrite although they were changed elsewhere. */
  overwrite: readonly string[];
}

export interface IPromptActions {
  /**
   * Sends a prompt; during a running turn it is queued. Resolves to the answer of a command, else to null.
   * Rejects if the kernel did not accept it.
   */
  send(text: string, options: IPromptOptions): Promise<TypedAnswer | null>;
  /** Sends the changed prompt of a turn, which is reverted before; rejects if that failed, too. */
  replace(
    replacedTurn: IReplacedTurn,
    text: string,
    options: IPromptOptions
  ): Promise<TypedAnswer | null>;
  /** Moves a queued prompt into the running turn. */
  sendNow(prompt: PromptAdmitted): void;
  /** Withdraws a queued prompt; false if it was too late. */
  withdraw(promptId: string): Promise<boolean>;
  /** Resolves to the available models and agents. */
  choices(): Promise<Choices | null>;
  /** Resolves to the buttons and commands that the kernel's operations have; null where it does not know. */
  operations(): Promise<ListedButtons | null>;
  /** Resolves to the words that may follow a command, given all that stands before the caret. */
  commandArguments(text: string): Promise<readonly string[]>;
  /** Asks for a button's operation; resolves to what it says, or to the error. */
  operate(button: OperationButton): Promise<string>;
  /** Resolves to a page of earlier prompts of the project, newest first; null where the kernel has none. */
  history(cursor: string | undefined): Promise<ListedPrompts | null>;
  /** Resolves to what a prompt may name; null where the kernel does not know. */
  mentions(
    query: string,
    agent: string | undefined
  ): Promise<MentionList | null>;
  /** Keeps a file for the next prompt; resolves to what it adds, or to why it cannot be attached. */
  attach(file: Attachment, model: string): Promise<PastedFile | string>;
  /** Resolves to what would go along with each mention of a text. */
  previews(text: string, agent: string | undefined): Promise<MentionPreview[]>;
}

export const { Provider: PromptActionsProvider, useOffered: usePromptActions } =
  createActionContext<IPromptActions>('prompt actions');
