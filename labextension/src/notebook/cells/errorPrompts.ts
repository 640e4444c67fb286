/** Prompts about the error of a cell. */
import type { ICellModel, ICodeCellModel } from '@jupyterlab/cells';
import type { IOutputModel } from '@jupyterlab/rendermime';
import type { ILink } from '../../kernel/kernelLink';
import { isAgentCell } from '../../state/session/missingAnswers';

/** What the agent is asked to do about an error. */
export type ErrorRequest = 'Fix' | 'Explain';

/** The tag of cells that are kept from the agent. */
const HIDDEN_TAG = 'agent-hidden';

/** Returns whether the user keeps a cell from the agent. */
export function isHiddenCell(model: ICellModel): boolean {
  const tags: unknown = model.getMetadata('tags');
  const tagList = typeof tags === 'string' ? [tags] : tags;
  return (
    Array.isArray(tagList) &&
    tagList.some(
      (tag: unknown) =>
        typeof tag === 'string' &&
        tag
          .toLowerCase()
          .split(/[\s,;]+/)
          .includes(HIDDEN_TAG)
    )
  );
}

/** Returns the newest error among a cell's outputs; null if there is none to ask the agent about. */
export function errorOf(model: ICellModel): IOutputModel | null {
  if (model.type !== 'code') {
    return null;
  }
  const { outputs } = model as ICodeCellModel;
  for (let index = outputs.length - 1; index >= 0; index -= 1) {
    const output = outputs.get(index);
    if (output.type === 'error') {
      return isHiddenCell(model) || isAgentCell(model.sharedModel.getSource())
        ? null
        : output;
    }
  }
  return null;
}

/** Returns the prompt about a cell's error, as a user would write it; the kernel reads it in English. */
export function errorPrompt(request: ErrorRequest, model: ICellModel): string {
  const { executionCount } = model as ICodeCellModel;
  return executionCount === null
    ? `${request} @error`
    : `${request} @error ${executionCount}`;
}

/**
 * Sends a prompt to the notebook's session, once the package has been loaded; resolves to the error, or to an
 * empty string.
 */
export async function sendPrompt(link: ILink, text: string): Promise<string> {
  await untilLoaded(link);
  // A cell may have switched the session before a frame was drawn.
  link.catchUp();
  const { current } = link.store.getSnapshot();
  const session = current ?? undefined;
  return (await link.outcome('prompt', { text, session })).error ?? '';
}

/** Resolves when the kernel no longer loads the package. */
function untilLoaded(link: ILink): Promise<void> {
  return new Promise(resolve => {
    if (link.state !== 'loading') {
      resolve();
      return;
    }
    const unsubscribe = link.store.subscribe(() => {
      if (link.state !== 'loading') {
        unsubscribe();
        resolve();
      }
    });
  });
}
