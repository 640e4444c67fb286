/** The Host for views inside JupyterLab: its renderers, icons and translations. */
import { Clipboard } from '@jupyterlab/apputils';
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { IRenderMime, IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { MimeModel } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import {
  caretDownIcon,
  caretRightIcon,
  checkIcon,
  closeIcon,
  stopIcon,
  type LabIcon
} from '@jupyterlab/ui-components';
import { useEffect, useRef, type ComponentType } from 'react';
import type { IconName, IHost } from '../../views/host';
import { sanitizeInPlace } from '../../views/dom/inPlaceSanitizer';
import { wrapInScrollBox } from '../../views/dom/scrollBoxes';
import { sanitizingRenderers, sanitizeOptions } from './sanitizingRenderers';
import { Diagram, isPlainDiagram } from './mermaidDiagram';
import { runInFrames } from '../../state/store/frameQueue';
import type { SlotLayout } from './slotLayout';

const ICONS: Record<IconName, LabIcon> = {
  done: checkIcon,
  failed: closeIcon,
  stopped: stopIcon,
  fold: caretRightIcon,
  unfold: caretDownIcon
};

const PRINTED_MIME_TYPE = 'application/vnd.jupyter.stdout';

/** Creates the host of one segment; its renderers are attached in the segment's slots. */
export function labHost(
  registry: IRenderMimeRegistry,
  slots: SlotLayout,
  words: TranslationBundle,
  languages: IEditorLanguageRegistry | null
): IHost {
  const renderers = sanitizingRenderers(registry);
  const { markdownParser: parser } = registry;
  const rendererFor = (mimeType: string) =>
    mimeComponent(renderers, slots, mimeType);
  const Markdown = rendererFor('text/markdown');
  return {
    Markdown,
    Code: ({ text, language }) => (
      <>
        {language === 'mermaid' && parser !== null && isPlainDiagram(text) && (
          <Diagram text={text} parser={parser} />
        )}
        {languages === null ? (
          <Markdown text={asFence(text, language)} />
        ) : (
          <HighlightedCode
            text={text}
            language={language}
            languages={languages}
          />
        )}
      </>
    ),
    Html: rendererFor('text/html'),
    TerminalText: rendererFor(PRINTED_MIME_TYPE),
    Icon: ({ name }) => {
      const { react: Picture } = ICONS[name];
      return <Picture tag="span" elementSize="small" />;
    },
    words,
    copy: text => {
      Clipboard.copyToSystem(text);
      return Promise.resolve();
    }
  };
}

/** Returns a component that draws its text with JupyterLab's renderer for a MIME type. */
function mimeComponent(
  registry: IRenderMimeRegistry,
  slots: SlotLayout,
  mimeType: string
): ComponentType<{ text: string }> {
  const options = sanitizeOptions(registry);
  return function Rendered({ text }) {
    const elementRef = useRef<HTMLDivElement>(null);
    const renderer = useRef<IRenderMime.IRenderer | null>(null);
    useEffect(() => {
      if (elementRef.current === null) {
        return;
      }
      const newRenderer = registry.createRenderer(mimeType);
      renderer.current = newRenderer;
      slots.put(newRenderer, elementRef.current);
      // JupyterLab adds links to printed text some time after drawing it.
      const observer = new MutationObserver(() => {
        sanitizeInPlace(newRenderer.node, options);
      });
      if (mimeType === PRINTED_MIME_TYPE) {
        observer.observe(newRenderer.node, { childList: true, subtree: true });
      }
      return () => {
        observer.disconnect();
        slots.removeWidget(newRenderer);
        newRenderer.dispose();
        renderer.current = null;
      };
    }, []);
    useEffect(() => {
      const current = renderer.current;
      const model = new MimeModel({
        data: { [mimeType]: text },
        trusted: false
      });
      runInFrames(() =>
        current === null || current.isDisposed
          ? Promise.resolve()
          : current.renderModel(model).then(() => {
              sanitizeInPlace(current.node, options);
              wrapInScrollBox(current.node);
            })
      );
    }, [text]);
    const dir = mimeType === PRINTED_MIME_TYPE ? undefined : 'auto';
    return <div className="plm-Rendered" dir={dir} ref={elementRef} />;
  };
}

/**
 * Draws code as the Markdown renderer does, but without HTML, which would have to be sanitised again:
 * a long listing takes a fraction of the time.
 */
function HighlightedCode({
  text,
  language,
  languages
}: {
  text: string;
  language: string;
  languages: IEditorLanguageRegistry;
}) {
  const elementRef = useRef<HTMLElement>(null);
  useEffect(() => {
    const code = elementRef.current;
    if (code === null) {
      return;
    }
    // The height is set at once; the colours follow in the frame queue.
    code.textContent = text;
    let isGone = false;
    runInFrames(async () => {
      const highlighted = document.createElement('code');
      await languages.highlight(
        text,
        language === '' ? null : languages.findBest(language),
        highlighted
      );
      if (!isGone) {
        // One insertion: each looks through all text around it for its direction.
        const colouredCode = document.createElement('span');
        colouredCode.append(...highlighted.childNodes);
        code.replaceChildren(colouredCode);
      }
    });
    return () => {
      isGone = true;
    };
  }, [text, language, languages]);
  return (
    <div className="plm-Rendered">
      <div className="jp-RenderedHTMLCommon jp-RenderedMarkdown">
        <pre>
          <code
            ref={elementRef}
            className={language === '' ? undefined : `language-${language}`}
          />
        </pre>
      </div>
    </div>
  );
}

/** Returns code as a Markdown fence that the code cannot close. */
function asFence(text: string, language: string): string {
  const longestRun = Math.max(
    2,
    ...(text.match(/`+/g) ?? []).map(run => run.length)
  );
  const fence = '`'.repeat(longestRun + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
