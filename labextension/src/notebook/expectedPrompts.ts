/** Detects cells that begin with the agent's magic, since their notebook is likely to send a prompt. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { ILink } from '../kernel/kernelLink';
import { prepareModel, needsPreparation } from '../kernel/modelPreparation';

const AGENT_MAGIC = /^\s*%{1,2}agent\b/;

/** Prepares the kernel for prompts of a notebook's cells, now and while they are written; returns a function that ends this. */
export function expectPrompts(panel: NotebookPanel, link: ILink): () => void {
  const { model } = panel.context;
  let lastState = '';
  const onEdited = () => {
    const activeSource =
      panel.content.activeCell?.model.sharedModel.getSource();
    if (needsPreparation(link) && AGENT_MAGIC.test(activeSource ?? '')) {
      prepareModel(link);
    }
  };
  const onKernel = () => {
    if (lastState === link.state) {
      return;
    }
    lastState = link.state;
    if (
      needsPreparation(link) &&
      model.sharedModel.cells.some(cell => AGENT_MAGIC.test(cell.getSource()))
    ) {
      prepareModel(link);
    }
  };
  model.contentChanged.connect(onEdited);
  const unsubscribe = link.store.subscribe(onKernel);
  void panel.context.ready.then(() => {
    lastState = '';
    onKernel();
  });
  return () => {
    model.contentChanged.disconnect(onEdited);
    unsubscribe();
  };
}
