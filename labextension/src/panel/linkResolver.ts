/** Resolves links in the panel relative to the active notebook, as in its cells. */
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { IRenderMime } from '@jupyterlab/rendermime';

/** Returns a resolver for the active notebook. */
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
    // Asynchronous, so that a link without an active notebook rejects.
    resolveUrl: async (url, context) => current().resolveUrl(url, context),
    getDownloadUrl: async url => current().getDownloadUrl(url),
    resolvePath: async path => current().resolvePath?.(path) ?? null
  };
}
