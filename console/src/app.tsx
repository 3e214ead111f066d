/** The console: the session, the frame, and the screen of the address. */

import { QueryClientProvider, type QueryClient } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { Route as RouterRoute, Router, Switch } from 'wouter-preact';
import { requiredRoleOrNull } from './api/access';
import { EnvironmentContext, useEnvironment, type Environment } from './api/context';
import { ROUTES, type Route } from './routes';
import { SignIn } from './screens/sign-in/sign-in';
import { useFragmentPath } from './ui/address';
import { Boundary } from './ui/boundary';
import { lazy } from './ui/lazy';
import { useCan, useMe, useOrganization, usePlatform, useRole, useRoleReads, useSite } from './ui/place';
import { RoleNotice } from './ui/role-notice';
import { PageHeader } from './ui/page';
import { Shell } from './ui/shell';
import { Failed, Loading } from './ui/states';

interface AppProps {
  environment: Environment;
  queries: QueryClient;
  /** Why signing in failed, if it just did. */
  signInError: unknown;
}

/** The console. */
export function App({ environment, queries, signInError }: AppProps) {
  const isSignedIn = environment.session.getToken() !== null;
  return (
    <EnvironmentContext.Provider value={environment}>
      <QueryClientProvider client={queries}>
        {isSignedIn && !signInError ? <Screens /> : <SignIn error={signInError} />}
      </QueryClientProvider>
    </EnvironmentContext.Provider>
  );
}

/** The components of the screens. All but the first wait for the rest of the client. */
function useScreens() {
  const { completeClient } = useEnvironment();
  const load = (route: Route) => (route.path === '/' ? route.load() : completeClient().then(route.load));
  return useState(() => ROUTES.map((route) => ({ route, Screen: lazy(() => load(route), <Loading />) })))[0];
}

function Screens() {
  const screens = useScreens();
  return (
    <Router hook={useFragmentPath}>
      <Shell>
        <Switch>
          {screens.map(({ route, Screen }) => (
            <RouterRoute key={route.path} path={route.path}>
              <Boundary key={route.path}>
                <Guard route={route}>
                  <Screen />
                </Guard>
              </Boundary>
            </RouterRoute>
          ))}
          <RouterRoute>
            <PageHeader title="Nothing here that you can see" description="The address leads to no screen." />
          </RouterRoute>
        </Switch>
      </Shell>
    </Router>
  );
}

interface GuardProps {
  route: Route;
  children: preact.ComponentChildren;
}

/** Show the screen, or who can open it if the role of the user is not enough. */
function Guard({ route, children }: GuardProps) {
  const isAllowed = useCan(route.access);
  const role = useRole();
  const user = useMe();
  const places = [useOrganization(), usePlatform(), useSite()];
  const failed = [user, ...places, ...useRoleReads()].find((query) => query.error);
  if (failed) return <Failed error={failed.error} onRetry={() => failed.refetch()} />;
  if (isAllowed) return <>{children}</>;
  const isKnown = requiredRoleOrNull(route.access) === null ? user.data !== undefined : role !== null;
  if (!isKnown) return <Loading />;
  return (
    <>
      <PageHeader title={route.title} />
      <RoleNotice rule={route.access}>{`Your role does not open ${route.title.toLowerCase()}.`}</RoleNotice>
    </>
  );
}
