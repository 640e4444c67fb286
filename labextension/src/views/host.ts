/**
 * What the views ask of the place they are drawn in.
 *
 * The views know no JupyterLab. A notebook, the panel or a widget hands them a Host; text of a
 * model or a tool only ever reaches the page through it, or as plain text.
 */
import { createContext, useContext, type ComponentType } from 'react';

/** Signs that the host has a picture for. */
export type IconName = 'done' | 'failed' | 'stopped' | 'fold' | 'unfold';

/** Words in the user's language; whole sentences only. */
export interface IWords {
  __(text: string, ...values: (string | number)[]): string;
  _n(
    one: string,
    many: string,
    n: number,
    ...values: (string | number)[]
  ): string;
}

export interface IHost {
  /** Draws the Markdown of a model: sanitised, code highlighted, maths typeset. */
  Markdown: ComponentType<{ text: string }>;
  /** Draws code in the colours of the theme. */
  Code: ComponentType<{ text: string; language: string }>;
  /** Draws what a program printed, with its terminal colours. */
  Printed: ComponentType<{ text: string }>;
  Icon: ComponentType<{ name: IconName }>;
  words: IWords;
}

const HostContext = createContext<IHost | null>(null);

export const HostProvider = HostContext.Provider;

/** Returns the host that the views around are drawn in. */
export function useHost(): IHost {
  const host = useContext(HostContext);
  if (host === null) {
    throw new Error(
      'A view of Palimpsest was drawn outside of a HostProvider.'
    );
  }
  return host;
}
