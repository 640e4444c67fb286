/** The place of a cell's inspector, which the kernel reads and sets: `view.place` in Python. */
import { useCallback, useEffect, useState } from 'react';
import { linkTo, parseLink } from '../state/inspector/placeLink';
import { NOWHERE, type IInspectorPlace } from '../state/inspector/source';
import type { InspectorWidgetModel } from './anywidgetModel';

/** Returns the place, and how to set it; it follows the kernel, and other cells of the same view. */
export function useKernelPlace(
  model: InspectorWidgetModel
): [IInspectorPlace, (place: IInspectorPlace) => void] {
  const [shown, setShown] = useState(() => linked(model.get('place')));
  useEffect(() => {
    const follow = () => {
      const link = model.get('place');
      // What this cell has sent comes back as the same link.
      setShown(before => (before.link === link ? before : linked(link)));
    };
    follow();
    model.on('change:place', follow);
    return () => {
      model.off('change:place', follow);
    };
  }, [model]);
  const setPlace = useCallback(
    (place: IInspectorPlace) => {
      const link = linkTo(model.get('session'), place);
      setShown({ link, place });
      try {
        model.set('place', link);
        model.save_changes();
      } catch {
        // The comm is closed: the views move all the same.
      }
    },
    [model]
  );
  return [shown.place, setPlace];
}

function linked(link: string): { link: string; place: IInspectorPlace } {
  return { link, place: parseLink(link)?.place ?? NOWHERE };
}
