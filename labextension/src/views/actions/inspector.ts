/** The action that opens the inspector. */
import { createActionContext } from './actionContext';

/** The command by which a host opens the inspector; its arguments are a target. */
export const INSPECT_COMMAND = 'palimpsest:inspect';

/** The command by which a host opens the inspectors of two sessions side by side. */
export const COMPARE_COMMAND = 'palimpsest:compare';

/** The place at which an inspector opens; what is not given is the newest. */
export interface IInspectorTarget {
  /** The session's id; by default the notebook's current one. */
  session?: string;
  /** Path of the notebook whose kernel answers; by default the active one's. */
  notebook?: string;
  /** A request: its number from 0, or the id of the message that answered it. */
  request?: number | string;
  /** An item: its number from 0, or the id of its part or message. */
  item?: number | string;
}

interface IInspectorOpener {
  /** Opens the inspector in a place of its own, or brings the open one to the front. */
  inspect(target?: IInspectorTarget): void;
  /** Opens the inspectors of two sessions side by side; missing where a host has no room for two. */
  compare?(session: string, otherSession: string): void;
}

export const {
  Provider: InspectorOpenerProvider,
  useIfOffered: useInspectorOpener
} = createActionContext<IInspectorOpener>('an inspector opener');
