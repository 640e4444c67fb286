/**
 * Links of the panel lead beside the notebook that is in front, as those in its cells do.
 */
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { IRenderMime } from '@jupyterlab/rendermime';

/** Reads addresses as the notebook in front does. */
export function notebookLinkResolver(
  tracker: INotebookTracker
): IRenderMime.IResolver {
  const current = (): IRenderMime.IResolver => {
    const resolver = tracker.currentWidget?.context.urlResolver;
    if (resolver === undefined) {
      throw new Error('No notebook is in front.');
    }
    return resolver;
  };
  return {
    // Asynchronous, so that a link without a notebook is one that leads nowhere.
    resolveUrl: async (url, context) => current().resolveUrl(url, context),
    getDownloadUrl: async url => current().getDownloadUrl(url),
    resolvePath: async path => current().resolvePath?.(path) ?? null
  };
}
