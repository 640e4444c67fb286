/**
 * Actions on a turn.
 */
import { createActionContext } from './actionContext';

export interface ITurnActions {
  /** Stops the running turn. */
  stop(): void;
  /** Retries the failed request; resolves to the error, or to an empty string. */
  retry(): Promise<string>;
}

export const {
  Provider: TurnActionsProvider,
  useIfOffered: useTurnActionsIfOffered,
  useOffered: useTurnActions
} = createActionContext<ITurnActions>('turn actions');
