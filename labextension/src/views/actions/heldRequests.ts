/**
 * Actions on a request that step mode holds.
 */
import { createActionContext } from './actionContext';

export interface IHeldRequestActions {
  /** Lets a request go: it is decided anew and sent. */
  release(hold: string): void;
  /** Changes a number of the session's policy; resolves to an error sentence, or an empty string. */
  changeNumber(name: string, value: number): Promise<string>;
  /** Switches step mode on or off; off lets go what is held. */
  setStepMode(on: boolean): void;
}

export const {
  Provider: HeldRequestActionsProvider,
  useIfOffered: useHeldRequestActions
} = createActionContext<IHeldRequestActions>('held requests');
