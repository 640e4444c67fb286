/** Actions on a request that step mode holds. */
import { createActionContext } from './actionContext';

export interface IHeldRequestActions {
  /** Lets a request go: it is decided anew and sent. */
  release(holdId: string): void;
  /** Puts the new summary aside that a request would use, and asks for another; resolves as `changeNumber`. */
  askForAnotherSummary(holdId: string): Promise<string>;
  /** Uses the summary that was put aside; resolves as `changeNumber`. */
  useOlderSummary(holdId: string): Promise<string>;
  /** Changes a number of the policy of the request's session; resolves to an error sentence, or an empty string. */
  changeNumber(holdId: string, name: string, value: number): Promise<string>;
  /** Changes the session's spending limit, in US dollars and tokens; undefined removes one. Resolves as `changeNumber`. */
  changeLimit(
    usd: number | undefined,
    tokens: number | undefined
  ): Promise<string>;
  /** Switches step mode on or off; off lets go what is held. */
  setStepMode(isOn: boolean): void;
}

export const {
  Provider: HeldRequestActionsProvider,
  useIfOffered: useHeldRequestActions
} = createActionContext<IHeldRequestActions>('held requests');
