/**
 * What JupyterLab loads: one plugin a concern.
 */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { segmentFactory } from './notebook/renderer';

const segments: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-palimpsest:segments',
  description: 'Draws what an agent said and did in the outputs of its cell.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [ITranslator],
  activate: (
    _app: JupyterFrontEnd,
    registry: IRenderMimeRegistry,
    translator: ITranslator | null
  ) => {
    const words = (translator ?? nullTranslator).load('jupyter_palimpsest');
    registry.addFactory(segmentFactory(registry, words));
  }
};

export default [segments];
