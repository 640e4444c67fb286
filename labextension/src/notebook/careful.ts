/**
 * JupyterLab's sanitiser, and a stricter one behind it.
 */
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { strict } from '../views/strict';

/** Wraps a sanitiser with one that is stricter still. */
export function careful(inner: IRenderMime.ISanitizer): IRenderMime.ISanitizer {
  return {
    ...passed(inner),
    sanitize: (dirty, options) => strict(inner.sanitize(dirty, options))
  };
}

function passed(
  inner: IRenderMime.ISanitizer
): Partial<IRenderMime.ISanitizer> {
  return {
    getAutolink: () => inner.getAutolink?.() ?? true,
    get allowNamedProperties() {
      return inner.allowNamedProperties ?? false;
    }
  };
}
