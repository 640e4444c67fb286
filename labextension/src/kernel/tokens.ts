/**
 * What our plugins share with each other.
 */
import { Token } from '@lumino/coreutils';
import type { LinkRegistry } from './linkRegistry';

/** The links of this page, one per kernel; cells and panel look at the same store. */
export const ILinkRegistry = new Token<LinkRegistry>(
  'jupyter-palimpsest:ILinks',
  'The links between this page and the kernels that have an agent.'
);
