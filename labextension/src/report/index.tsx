/**
 * `session.report()`: the inspector alone on a page, over data that is inside it.
 *
 * The link after `#` keeps the place, so that a page can be handed on at a request.
 */
import { useCallback, useEffect, useMemo, useState } from 'react';
import { createRoot } from 'react-dom/client';
import {
  linkTo,
  parseLink,
  type ComparedSide,
  type IComparedView,
  type IInspectorPlace
} from '../state/inspector/source';
import { HostProvider, type IHost } from '../views/host';
import { Inspector } from '../views/inspector/inspector';
import '../../style/base.css';
import '../../style/panel.css';
import '../../style/widget.css';
import '../../style/inspector.css';
import '../../style/forcedColors.css';
import '../../style/inspectedCell.css';
import { WORDS } from '../widget/hostParts';
import { PLAIN_TEXT_HOST } from '../widget/plainTextHost';
import { applyTheme } from '../widget/theme';
import { usePrinting } from './printing';
import {
  readBeside,
  readReport,
  type IReportBeside,
  type IReportData
} from './reportData';
import { ReportSource } from './reportSource';

const { copy } = PLAIN_TEXT_HOST;
/** Of a report, a link is the address of the file at a place. */
const REPORT_HOST: IHost = {
  ...PLAIN_TEXT_HOST,
  ...(copy === undefined
    ? {}
    : {
        copy: (link: string) => copy(new URL(`#${link}`, location.href).href)
      })
};

const NOWHERE: IInspectorPlace = { request: null, item: null };

begin();

function begin(): void {
  const place = document.getElementById('inspector');
  const savedHtml = document.getElementById('saved');
  const packedData: unknown = Reflect.get(globalThis, 'palimpsestReport');
  const data = readReport(packedData);
  if (place === null || data === null) {
    return;
  }
  applyTheme(place);
  place.hidden = false;
  if (savedHtml !== null) {
    savedHtml.hidden = true;
  }
  createRoot(place).render(
    <HostProvider value={REPORT_HOST}>
      <Report data={data} beside={readBeside(packedData)} place={place} />
    </HostProvider>
  );
}

/** Where the page is: in which session, and at what of it. */
interface IReportPlace {
  readonly side: ComparedSide;
  readonly place: IInspectorPlace;
  /** Whether the other session was opened by a button, which is gone with what it stood in. */
  readonly isOpened?: boolean;
}

function Report({
  data,
  beside,
  place: element
}: {
  data: IReportData;
  beside: IReportBeside | null;
  place: HTMLElement;
}) {
  const isPrinted = usePrinting(element);
  const second = beside?.second.view.session ?? null;
  const sources = useMemo(
    () => ({
      first: new ReportSource(data, WORDS),
      second: new ReportSource(beside?.second ?? data, WORDS)
    }),
    [data, beside]
  );
  const [{ side, place, isOpened = false }, setPlace] = useState(() =>
    placeOfAddress(second)
  );
  useEffect(() => {
    const follow = () => {
      setPlace(placeOfAddress(second));
    };
    window.addEventListener('hashchange', follow);
    return () => {
      window.removeEventListener('hashchange', follow);
    };
  }, [second]);
  const open = useCallback<IComparedView['open']>(
    (to, at) => {
      const next = { ...NOWHERE, ...at };
      const session = (to === 'second' ? second : null) ?? data.view.session;
      setPlace(before => ({
        side: to,
        place: next,
        isOpened: before.side !== to
      }));
      history.replaceState(null, '', `#${linkTo(session, next)}`);
    },
    [data, second]
  );
  const compared = useMemo(
    () =>
      beside === null
        ? null
        : {
            comparison: beside.comparison,
            side,
            takesFocus: isOpened,
            open
          },
    [beside, side, isOpened, open]
  );
  return (
    <Inspector
      key={side}
      source={sources[side]}
      place={place}
      isPrinted={isPrinted}
      onPlace={next => {
        open(side, next);
      }}
      {...(compared === null ? {} : { compared })}
    />
  );
}

/** Returns the place that the address names; without one, a report of two sessions begins with both. */
function placeOfAddress(second: string | null): IReportPlace {
  const link = parseLink(location.hash.slice(1));
  if (link === null) {
    const place = second === null ? NOWHERE : { ...NOWHERE, tab: 'compared' };
    return { side: 'first', place };
  }
  return {
    side: link.session === second ? 'second' : 'first',
    place: link.place
  };
}
