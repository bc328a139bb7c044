FROM debian:12
ENV PYTHONUNBUFFERED=1 \
    APP_HOME=/app
ENV DATA=$APP_HOME/data
WORKDIR $APP_HOME
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-venv=3.11.2-1+b1 \
 && apt-get clean \
 && rm -rf /var/lib/apt/lists/* \
 && python3 -m venv /opt/env
# what the program needs
COPY requirements.txt ./
RUN --mount=type=cache,target=/root/.cache/pip /opt/env/bin/pip install -r requirements.txt
COPY . .
COPY --chown=1000:1000 *.cfg conf/
RUN useradd -m worker
USER worker
VOLUME /data
CMD ["/opt/env/bin/python", "main.py"]
