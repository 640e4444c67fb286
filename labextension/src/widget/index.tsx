/**
 * `session.view()`: the panel's views as one module for anywidget, read-only.
 *
 * It needs ipywidgets and anywidget in the page, but not our labextension.
 */
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { createRoot } from 'react-dom/client';
import { SessionView } from '../views/chat/readOnlySession';
import { HostProvider, useHost } from '../views/host';
import '../../style/base.css';
import '../../style/panel.css';
import '../../style/widget.css';
import { WidgetSession } from './widgetSession';
import { HOST } from './browserHost';
import type { IAnyWidgetModel } from './anywidgetModel';
import { MountPoints } from './mountPoints';
import { deferToExtensionStyles, VIEW_SHEET } from './stylesheetOrder';
import { applyTheme } from './theme';

const FOLLOWED = new Map<string, WidgetSession>();

interface IModelProps {
  model: IAnyWidgetModel;
}

/** Starts to follow the session, and draws it in the widget's saved HTML in cells. */
function initialize({ model }: IModelProps): () => void {
  const followed = followedBy(model);
  const places = new MountPoints(mark(model), place => draw(place, followed));
  return () => {
    places.dispose();
    followed.dispose();
    FOLLOWED.delete(model.get('key'));
  };
}

/** Draws in the widget's own element, such as in a box of widgets. */
function render({ model, el }: IModelProps & { el: HTMLElement }): () => void {
  return draw(el, followedBy(model));
}

export default { initialize, render };

function followedBy(model: IAnyWidgetModel): WidgetSession {
  deferToExtensionStyles(document, VIEW_SHEET);
  const key = model.get('key');
  const followed = FOLLOWED.get(key) ?? new WidgetSession(model);
  FOLLOWED.set(key, followed);
  return followed;
}

function mark(model: IAnyWidgetModel): string {
  return `plm-view-${model.get('key')}`;
}

function draw(place: HTMLElement, followed: WidgetSession): () => void {
  const undress = applyTheme(place);
  const root = createRoot(place);
  root.render(
    <HostProvider value={HOST}>
      <WidgetContent place={place} followed={followed} />
    </HostProvider>
  );
  return () => {
    root.unmount();
    undress();
  };
}

function WidgetContent({
  place,
  followed
}: {
  place: HTMLElement;
  followed: WidgetSession;
}) {
  const { words } = useHost();
  const { transcript, known, ended } = useSyncExternalStore(
    followed.subscribe,
    followed.getSnapshot
  );
  useLook(place, followed);
  if (!known) {
    return null;
  }
  return (
    <SessionView
      transcript={transcript}
      remark={
        ended
          ? words.__(
              'The kernel has ended: this is the session as far as it was told.'
            )
          : ''
      }
      isQuiet={isSaidElsewhere}
    />
  );
}

/** Watches the session while the element is in the page. */
function useLook(place: HTMLElement, followed: WidgetSession): void {
  const end = useRef<(() => void) | null>(null);
  useEffect(() => {
    const check = () => {
      if (place.isConnected && end.current === null) {
        end.current = followed.look();
      } else if (!place.isConnected && end.current !== null) {
        end.current();
        end.current = null;
      }
    };
    check();
    const timer = setInterval(check, CHECK_MS);
    return () => {
      clearInterval(timer);
      end.current?.();
      end.current = null;
    };
  }, [place, followed]);
}

const CHECK_MS = 1_000;

/** Whether our labextension is present and announces events to screen readers. */
function isSaidElsewhere(): boolean {
  return document.querySelector('.plm-Announcer') !== null;
}
