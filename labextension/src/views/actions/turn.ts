/** Actions on a turn. */
import type { IRetryChoice } from './resends';
import { createActionContext } from './actionContext';

export interface ITurnActions {
  /** Stops the running turn. */
  stop(): void;
  /** Retries the failed request; resolves to the error, or to an empty string, as `retryTurn` does. */
  retry(): Promise<string>;
  /** Sends a turn's prompt again, in the place of the turn and of what follows it. */
  retryTurn(
    turn: string,
    overwrite: readonly string[],
    choice: IRetryChoice
  ): Promise<string>;
}

export const {
  Provider: TurnActionsProvider,
  useIfOffered: useTurnActionsIfOffered,
  useOffered: useTurnActions
} = createActionContext<ITurnActions>('turn actions');
