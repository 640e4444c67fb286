/** Actions that send a turn's prompt again, as it was or changed, in the place of the turn. */
import type { Choices, Message } from '../../protocol/generated';
import { createActionContext } from './actionContext';

/** Settings of a retry that differ from the turn's. */
export interface IRetryChoice {
  model?: string;
  /** The session's permission mode from then on. */
  mode?: string;
}

export interface IResendActions {
  /**
   * Reverts a turn and all after it, with its files, and sends its prompt again; files that were changed elsewhere
   * only if they are named. Resolves to the error, or to an empty string.
   */
  resend(
    turn: string,
    overwrite: readonly string[],
    choice: IRetryChoice
  ): Promise<string>;
  /** Lets the user change the prompt of a turn; nothing is reverted before it is sent. */
  edit(turn: string, prompt?: Message): void;
  /** Resolves to the models and modes; missing where they are chosen elsewhere. */
  choices?: () => Promise<Choices | null>;
}

export const {
  Provider: ResendActionsProvider,
  useIfOffered: useResendActions
} = createActionContext<IResendActions>('resend actions');
