/** Tokens through which our plugins share services. */
import { Token } from '@lumino/coreutils';
import type { LinkRegistry } from './linkRegistry';

/** The links of this page, one per kernel, so that cells and panel share a store. */
export const ILinkRegistry = new Token<LinkRegistry>(
  'jupyter-palimpsest:ILinks',
  'The links between this page and the kernels that have an agent.'
);
