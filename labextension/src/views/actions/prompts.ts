/**
 * How a person prompts the agent.
 */
import type { Choices, Prompt, PromptAdmitted } from '../../protocol/generated';
import { createActionContext } from './actionContext';

/** What a person chose for a prompt; without it, as the session has it. */
export type IPromptOptions = Partial<
  Pick<
    Prompt,
    'agent' | 'files' | 'max_steps' | 'model' | 'system' | 'tools' | 'variant'
  >
>;

export interface IPromptActions {
  /** Sends a prompt; one that comes while a turn runs waits. Rejects when it was not taken. */
  send(text: string, chosen: IPromptOptions): Promise<void>;
  /** Takes a waiting prompt and sends it into the turn that runs. */
  sendNow(prompt: PromptAdmitted): void;
  /** Takes a waiting prompt back; false when it was too late. */
  withdraw(promptId: string): Promise<boolean>;
  /** Tells which models and agents there are. */
  choices(): Promise<Choices | null>;
}

export const { Provider: PromptActionsProvider, useOffered: usePromptActions } =
  createActionContext<IPromptActions>('prompt actions');
