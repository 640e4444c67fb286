/**
 * What a person does with a turn.
 */
import { createActionContext } from './actionContext';

export interface ITurnActions {
  /** Stops the turn that runs. */
  stop(): void;
  /** Sends the request that failed again; resolves to what hindered it, or to nothing. */
  retry(): Promise<string>;
}

export const {
  Provider: TurnActionsProvider,
  useIfOffered: useTurnActionsIfOffered,
  useOffered: useTurnActions
} = createActionContext<ITurnActions>('turn actions');
