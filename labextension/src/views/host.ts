/**
 * The Host: the interface between the views and the environment in which they are drawn.
 *
 * The views do not depend on JupyterLab. A notebook, the panel or a widget provides a Host; text of a
 * model or a tool reaches the page only through it, or as plain text.
 */
import { createContext, useContext, type ComponentType } from 'react';
import type { ITranslations } from '../state/text/translations';

/** Icons that the host provides. */
export type IconName = 'done' | 'failed' | 'stopped' | 'fold' | 'unfold';

/** Translations into the user's language; whole sentences only. */
export type IWords = ITranslations;

export interface IHost {
  /** Draws a model's Markdown: sanitised, with highlighted code and typeset maths. */
  Markdown: ComponentType<{ text: string }>;
  /** Draws HTML: sanitised, so that nothing in it runs or loads anything. */
  Html: ComponentType<{ text: string }>;
  /** Draws code in the colours of the theme. */
  Code: ComponentType<{ text: string; language: string }>;
  /** Draws a program's output, with its terminal colours. */
  TerminalText: ComponentType<{ text: string }>;
  Icon: ComponentType<{ name: IconName }>;
  words: IWords;
  /** Copies a text to the clipboard, where that is possible. */
  copy?: (text: string) => Promise<void>;
}

const HostContext = createContext<IHost | null>(null);

export const HostProvider = HostContext.Provider;

/** Returns the host of the surrounding views. */
export function useHost(): IHost {
  const host = useContext(HostContext);
  if (host === null) {
    throw new Error(
      'A view of Palimpsest was drawn outside of a HostProvider.'
    );
  }
  return host;
}
