/** The two functions that anywidget calls in a module of ours, in pages that may or may not have our labextension. */
import type { ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { HostProvider, type IHost } from '../views/host';
import type { IAnyWidgetModel } from './anywidgetModel';
import { MountPoints } from './mountPoints';
import { deferToExtensionStyles } from './stylesheetOrder';
import { applyTheme } from './theme';

/** What a kind of widget shows. */
interface IWidgetKind<Model, Source> {
  /** The selector of a rule that only the sheet of this kind has. */
  sheetSelector: string;
  /** The class of the saved HTML without the widget's key. */
  savedClass: string;
  host: IHost;
  /** Returns what all drawings of one widget share. */
  createSource: (model: Model) => Source;
  draw: (model: Model, source: Source, container: HTMLElement) => ReactNode;
}

interface IModelProps<Model> {
  model: Model;
}

/** Returns the module of a kind of widget. */
export function widgetModule<
  Model extends IAnyWidgetModel,
  Source extends { dispose(): void }
>({
  sheetSelector,
  savedClass,
  host,
  createSource,
  draw
}: IWidgetKind<Model, Source>) {
  const sources = new Map<string, Source>();
  const sourceOf = (model: Model): Source => {
    deferToExtensionStyles(document, sheetSelector);
    const key = model.get('key');
    const source = sources.get(key) ?? createSource(model);
    sources.set(key, source);
    return source;
  };
  const drawInto = (container: HTMLElement, model: Model, source: Source) => {
    const removeTheme = applyTheme(container);
    const root = createRoot(container);
    root.render(
      <HostProvider value={host}>{draw(model, source, container)}</HostProvider>
    );
    return () => {
      root.unmount();
      removeTheme();
    };
  };
  return {
    /** Draws in the widget's saved HTML in cells. */
    initialize: ({ model }: IModelProps<Model>): (() => void) => {
      const source = sourceOf(model);
      const key = model.get('key');
      const mountPoints = new MountPoints(`${savedClass}-${key}`, container =>
        drawInto(container, model, source)
      );
      return () => {
        mountPoints.dispose();
        source.dispose();
        sources.delete(key);
      };
    },
    /** Draws in the widget's own element, such as in a box of widgets. */
    render: ({ model, el }: IModelProps<Model> & { el: HTMLElement }) =>
      drawInto(el, model, sourceOf(model))
  };
}
